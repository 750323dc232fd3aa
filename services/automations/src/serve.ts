import { main } from '@commonplace/kit/runtime';
import { automations } from './service.js';

await main([automations]);
