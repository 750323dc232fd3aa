export type { TaskProcess } from '../process/index.js';
export { createFairQueue, type FairQueue, type FairQueueOptions } from './fair-queue.js';
export { type PerformOptions, performTasks } from './perform-tasks.js';
export { createWorkerPool, type WorkerPool, type WorkerPoolOptions } from './pool.js';
export { type PlainError, resultOf, type TaskAnswer, transferablesIn, withBuffers } from './task-answer.js';
export { failuresOfBounded, startTaskThread, type TaskThreadOptions, type ThreadFailures } from './task-thread.js';
