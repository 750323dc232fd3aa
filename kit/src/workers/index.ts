export type { TaskProcess } from '../process/index.js';
export { createFairQueue, type FairQueue, type FairQueueOptions } from './fair-queue.js';
export { passOn } from './pass-on.js';
export { performTasks } from './perform-tasks.js';
export { createWorkerPool, type WorkerPool } from './pool.js';
export { resultOf, type TaskAnswer, transferablesIn, withBuffers } from './task-answer.js';
export { failuresOfBounded, startTaskThread } from './task-thread.js';
export { createThreadPool } from './thread-pool.js';
