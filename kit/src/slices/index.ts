export { type Breathe, createBreathe } from './breathe.js';
export { parseJsonInSlices } from './parse-json.js';
export { encodeInSlices, piecesOf } from './pieces.js';
export { isSentInTurns, sendInTurns } from './send.js';
export { mergeRuns, sortInSlices } from './sort.js';
