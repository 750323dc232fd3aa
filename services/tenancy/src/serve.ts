import { main } from '@commonplace/platform/runtime';
import { tenancy } from './service.js';

await main([tenancy]);
