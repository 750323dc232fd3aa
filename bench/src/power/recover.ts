import { readFileSync } from 'node:fs';
import { checkImage } from './check.js';
import type { History } from './history.js';

/** An image to check. Images are opened in this process, so that one that crashes the engine ends only this process. */
interface Task {
  readonly home: string;
  readonly place: number;
}

const history = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as History;
process.on('message', async ({ home, place }: Task) => {
  const faults = await checkImage(home, place, history).catch((error: Error) => [`it can't be opened: ${error.stack}`]);
  process.send?.(faults);
});
