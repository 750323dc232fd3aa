import { performTasks } from '@commonplace/kit/workers';
import { checkPatterns, patternFaults } from '../../patterns/match.js';
import { derivation } from './derivation.js';
import { type Task, withBuffers } from './deriver-protocol.js';

// This worker thread parses documents and matches patterns, one task at a time.

function perform(task: Task): unknown {
  if ('patterns' in task) return checkPatterns(task.patterns);
  if ('expressible' in task) return patternFaults(task.expressible);
  const derive = derivation[task.name] as (...given: unknown[]) => unknown;
  return derive(...task.args.map(withBuffers));
}

performTasks(perform);
