/** Whether WebAssembly stopped half-way: out of bounds, out of memory, or by its own abort. */
export function isTrap(error: unknown): boolean {
  return error instanceof Error && error.name === 'RuntimeError';
}
