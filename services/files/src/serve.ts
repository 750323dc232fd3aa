import { main } from '@commonplace/kit/runtime';
import { files } from './service.js';

await main([files]);
