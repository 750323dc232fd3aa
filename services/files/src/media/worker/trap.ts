/** Returns whether WebAssembly has trapped: out of bounds, out of memory, or aborted. */
export function isTrap(error: unknown): boolean {
  return error instanceof Error && error.name === 'RuntimeError';
}
