import { boundNesting, MAX_OPEN_ELEMENTS } from '../../domain/nesting.js';
import { MediaFailure } from '../failure.js';

/** Wraps a parser's handler so that it rejects a file whose elements are nested too deeply as `suspicious`. */
export const bounded = (handler: Parameters<typeof boundNesting>[0]) =>
  boundNesting(
    handler,
    () => new MediaFailure('suspicious', `the file has more than ${MAX_OPEN_ELEMENTS} nested elements`),
  );
