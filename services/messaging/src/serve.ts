import { main } from '@commonplace/platform/runtime';
import { messaging } from './service.js';

await main([messaging]);
