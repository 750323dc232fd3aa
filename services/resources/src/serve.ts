import { main } from '@commonplace/kit/runtime';
import { resources } from './service.js';

await main([resources]);
