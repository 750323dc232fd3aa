import { main } from '@commonplace/kit/runtime';
import { search } from './service.js';

await main([search]);
