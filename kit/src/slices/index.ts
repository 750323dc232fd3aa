export { type Breathe, createBreathe, nextTurn } from './breathe.js';
export { parseJsonInSlices } from './parse-json.js';
export { encodeInSlices, jsonPiecesOf, piecesOf } from './pieces.js';
export { isSentInTurns, sendInTurns } from './send.js';
export { mergeRuns, sortInSlices } from './sort.js';
