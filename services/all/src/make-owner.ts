import { main } from '@commonplace/kit/runtime';
import { welcome } from './welcome.js';

// For a mesh: makes its owner and first key once all services are up, and ends.
const running = await main([welcome]);
await running?.close();
