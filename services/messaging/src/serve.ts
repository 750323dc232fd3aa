import { main } from '@commonplace/kit/runtime';
import { messaging } from './service.js';

await main([messaging]);
