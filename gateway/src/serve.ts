import { main } from '@commonplace/platform/runtime';
import { gateway } from './service.js';

await main([gateway]);
