import { parseArgs } from 'node:util';
import { wholeNumber } from './options.js';
import { measureScale } from './search/scale.js';

const { values } = parseArgs({
  options: {
    passages: { type: 'string', default: '100000' },
    'per-document': { type: 'string', default: '4' },
    questions: { type: 'string', default: '300' },
  },
});
await measureScale({
  passages: wholeNumber(values.passages),
  perDocument: wholeNumber(values['per-document']),
  questions: wholeNumber(values.questions),
});
