import { main } from '@commonplace/kit/runtime';
import { agents } from './service.js';

await main([agents]);
