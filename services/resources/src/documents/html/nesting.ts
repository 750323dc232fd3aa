import { MAX_OPEN_ELEMENTS } from '../model/model.js';

/** Stops the parsing of HTML with more than `MAX_OPEN_ELEMENTS` nested elements. */
export class NestedTooDeep extends Error {}

/** Counts a parser's open elements through its callbacks. `onOpen` throws NestedTooDeep. */
export function createNestingGuard() {
  let open = 0;
  return {
    onOpen(): void {
      open += 1;
      if (open > MAX_OPEN_ELEMENTS) throw new NestedTooDeep();
    },
    onClose(): void {
      open -= 1;
    },
  };
}

/** Returns the result of `read`, or of `otherwise` if the text is nested too deep. */
export function readNested<T>(read: () => T, otherwise: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof NestedTooDeep) return otherwise();
    throw error;
  }
}
