import { main } from '@commonplace/kit/runtime';
import { tenancy } from './service.js';

await main([tenancy]);
