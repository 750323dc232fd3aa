import { performTasks } from '@commonplace/kit/workers';
import type { AnswerTask } from './index.js';
import { readAnswer } from './read.js';

// This thread reads large answers of the API, one after another.
function perform({ bytes, shape }: AnswerTask) {
  return readAnswer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), shape);
}

performTasks(perform);
