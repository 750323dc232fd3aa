import { main } from '@commonplace/platform/runtime';
import { search } from './service.js';

await main([search]);
