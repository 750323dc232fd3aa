import { main } from '@commonplace/kit/runtime';
import { identity } from './service.js';

await main([identity]);
