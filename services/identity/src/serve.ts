import { main } from '@commonplace/platform/runtime';
import { identity } from './service.js';

await main([identity]);
