import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '@commonplace/kit/priority';
import { answerTask } from '@commonplace/kit/workers';
import { checkPatterns, patternFaults } from '../../patterns/match.js';
import { derivation } from './derivation.js';
import { type Task, withBuffers } from './deriver-protocol.js';

/** Worker thread that parses documents and matches patterns, one task at a time. */
const port = parentPort;
if (port === null) throw new Error('must run in a worker thread');
// Lowers the OS priority, so that requests that need no thread go first where processors are scarce. On Linux, pid 0
// means this thread alone.
if (process.platform === 'linux') lowerPriority(5);

function perform(task: Task): unknown {
  if ('patterns' in task) return checkPatterns(task.patterns);
  if ('expressible' in task) return patternFaults(task.expressible);
  const derive = derivation[task.name] as (...given: unknown[]) => unknown;
  return derive(...task.args.map(withBuffers));
}

port.on('message', (task: Task) => void answerTask(() => perform(task)).then((answer) => port.postMessage(answer)));
