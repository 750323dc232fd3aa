export { type Backoff, backoffMs } from './backoff.js';
export {
  type AnyQueueSpec,
  type DeadLetterOutcome,
  type DeadLetters,
  type GivenUpJob,
  openDeadLetters,
} from './dead-letters.js';
export { type Changes, type HeldJob, JobLost } from './held-job.js';
export { createPeriodic, type Periodic } from './periodic.js';
export { openQueue, type Queue, type QueueOptions } from './queue.js';
export { DEAD_INDEX, type DeadLetter, type JobRecord, type QueueSpec } from './record.js';
export { runEach } from './run-each.js';
