import type { PatternCheck, PatternVerdict } from '../../patterns/match.js';
import type { Derivation } from './derivation.js';

/** A task for a worker thread: one derivation of a document, or checks of a form's patterns. */
export type Task =
  | { readonly name: keyof Derivation; readonly args: readonly unknown[] }
  | { readonly patterns: readonly PatternCheck[] }
  | { readonly expressible: readonly string[] };

export type { PatternCheck, PatternVerdict };

/**
 * Turns the fields of a value that crossed a thread boundary as Uint8Array back into Buffers. Changes the value in
 * place.
 */
export function withBuffers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Map) return value;
  const fields = value as Record<string, unknown>;
  for (const [name, field] of Object.entries(fields)) {
    if (field instanceof Uint8Array) fields[name] = Buffer.from(field.buffer, field.byteOffset, field.byteLength);
  }
  return value;
}
