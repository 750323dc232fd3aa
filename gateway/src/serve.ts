import { main } from '@commonplace/kit/runtime';
import { gateway } from './service.js';

await main([gateway]);
