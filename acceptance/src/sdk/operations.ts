import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../system.js';

/** An operation with its names in the SDKs. */
export interface Operation {
  readonly id: string;
  /** Group in snake case, such as `chat_sessions`. */
  readonly group: string;
  /** Method in camel case, such as `listMembers`. */
  readonly method: string;
  readonly verb: string;
  readonly path: string;
  readonly pathNames: readonly string[];
  readonly input?: string;
  readonly inputIn?: 'query' | 'body' | 'bytes';
}

interface Generator {
  readContract(): { readonly operations: readonly Operation[]; readonly hash: string };
}

interface Names {
  snake(name: string): string;
  camel(name: string): string;
}

const load = async <T>(file: string) => (await import(pathToFileURL(join(ROOT, 'sdk/generate', file)).href)) as T;

/** Returns all operations of the contract, and the hash of the contract that generated files contain. */
export async function readContract() {
  return (await load<Generator>('contract.mjs')).readContract();
}

export const { snake, camel } = await load<Names>('operations.mjs');
