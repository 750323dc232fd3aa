import type { AppError, Code } from '@commonplace/kit/errors';
import type { Derivation } from './derivation.js';

/** One derivation that a thread is to do. */
export interface Task {
  readonly id: number;
  readonly name: keyof Derivation;
  readonly args: readonly unknown[];
}

/** An error that clients are told of, as plain values. */
export interface PlainError extends Partial<Pick<AppError, 'param' | 'retryAfter'>> {
  readonly code: Code;
  readonly reason: string;
  readonly message: string;
  readonly details: AppError['details'];
  readonly faults: AppError['faults'];
}

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError | { readonly message: string } };

/** A value with Buffers again where its fields have crossed a thread's border as bare bytes. */
export function withBuffers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Map) return value;
  const fields = value as Record<string, unknown>;
  for (const [name, field] of Object.entries(fields)) {
    if (field instanceof Uint8Array) fields[name] = Buffer.from(field.buffer, field.byteOffset, field.byteLength);
  }
  return value;
}
