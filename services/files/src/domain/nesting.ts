import type { Handler } from 'htmlparser2';

/**
 * Elements that may be open at once. The parser takes time for each of them with every tag, and no real page has so
 * many.
 */
export const MAX_OPEN_ELEMENTS = 1000;

/** Reports markup with more than `MAX_OPEN_ELEMENTS` nested elements. */
export class NestedTooDeep extends Error {}

/**
 * Wraps a parser's handler so that it throws at the first element beyond `MAX_OPEN_ELEMENTS`. It counts what the parser
 * has open rather than the tags in the text, which may be unbalanced.
 */
export function boundNesting(
  handler: Partial<Handler>,
  refusal: () => Error = () => new NestedTooDeep(),
): Partial<Handler> {
  let open = 0;
  return {
    ...handler,
    onopentag(name, attributes, isImplied) {
      open += 1;
      if (open > MAX_OPEN_ELEMENTS) throw refusal();
      handler.onopentag?.(name, attributes, isImplied);
    },
    onclosetag(name, isImplied) {
      open -= 1;
      handler.onclosetag?.(name, isImplied);
    },
  };
}
