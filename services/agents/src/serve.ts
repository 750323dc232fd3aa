import { main } from '@commonplace/platform/runtime';
import { agents } from './service.js';

await main([agents]);
