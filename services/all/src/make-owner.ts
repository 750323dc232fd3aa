import { main } from '@commonplace/platform/runtime';
import { welcome } from './welcome.js';

/** Creates the owner and first key of a mesh once all services are up, then ends. */
export async function start(): Promise<void> {
  const running = await main([welcome]);
  await running?.close();
}
