import { main } from '@commonplace/platform/runtime';
import { files } from './service.js';

await main([files]);
