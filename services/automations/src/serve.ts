import { main } from '@commonplace/platform/runtime';
import { automations } from './service.js';

await main([automations]);
