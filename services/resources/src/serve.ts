import { main } from '@commonplace/platform/runtime';
import { resources } from './service.js';

await main([resources]);
