import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';

/** The module of a program. */
export interface Program {
  start(): Promise<unknown>;
}

/** Loads the modules of programs by name, without starting any. */
export type Programs = Readonly<Record<string, () => Promise<Program>>>;

/** What the build notes about the bundle: its files, and files that change whenever what it was built from changes. */
interface Made {
  /** Script of all programs. */
  readonly file: string;
  /** Scripts of the threads, by the path of their module from the project root. */
  readonly threads: Readonly<Record<string, string>>;
  readonly of: readonly Stamp[];
}

/** Paths of scripts of a bundle. */
export interface FreshBundle {
  readonly programs: string;
  /** By the path of the thread's module from the project root. */
  readonly threads: ReadonlyMap<string, string>;
}

/** A file's path from the project root, modification time and size. */
type Stamp = readonly [path: string, mtimeMs: number, size: number];

/**
 * Returns the bundle below a project root; undefined if there is none, or if sources have been compiled since it was
 * built. The modules themselves are always current.
 */
export function freshBundle(root: string): FreshBundle | undefined {
  const folder = join(root, 'dist', 'bundle');
  try {
    const { file, threads, of } = JSON.parse(readFileSync(join(folder, 'made.json'), 'utf8')) as Made;
    if (!of.every((stamp) => isUnchanged(root, stamp))) return undefined;
    const scripts = Object.entries(threads).map(([module, name]) => [module, join(folder, name)] as const);
    return { programs: join(folder, file), threads: new Map(scripts) };
  } catch {
    return undefined;
  }
}

function isUnchanged(root: string, [path, mtimeMs, size]: Stamp): boolean {
  const now = statSync(join(root, path), { throwIfNoEntry: false });
  return now?.mtimeMs === mtimeMs && now.size === size;
}

/** A script of a bundle that has run, and what it exports. */
interface Loaded {
  readonly script: Script;
  readonly module: { readonly exports: object };
}

/** The scripts of a bundle, each of which runs when another one first requires it. */
export class Bundle {
  readonly #loaded = new Map<string, Loaded>();

  /** The scripts that have run, by path. */
  get scripts(): ReadonlyMap<string, Script> {
    return new Map([...this.#loaded].map(([path, { script }]) => [path, script]));
  }

  /** Runs a script, a function with the parameters of a CommonJS module, and returns its exports. */
  run(path: string): object {
    const known = this.#loaded.get(path);
    if (known !== undefined) return known.module.exports;
    const script = compile(path);
    const module = { exports: {} };
    // Before it runs, because scripts may require each other.
    this.#loaded.set(path, { script, module });
    try {
      script.runInThisContext()(module.exports, this.#requireOf(path), module, path, dirname(path));
    } catch (error) {
      // What it has exported is not complete, so that the next one to require it gets the error, too.
      this.#loaded.delete(path);
      throw error;
    }
    return module.exports;
  }

  #requireOf(path: string): (id: string) => unknown {
    const require = createRequire(path);
    // Scripts name each other by the modules from which the build made them.
    return (id) => (id.startsWith('./') ? this.run(join(dirname(path), id.replace(/\.mjs$/, '.cjs'))) : require(id));
  }
}

/**
 * Compiles a script. That takes as long as everything else of a start, so the engine gets the code that the build has
 * compiled; it compiles by itself if that is missing or was made by another version or with other flags.
 */
export function compile(path: string): Script {
  return new Script(readFileSync(path, 'latin1'), {
    // As a URL, so that stack traces name files as they do for modules.
    filename: pathToFileURL(path).href,
    cachedData: readCompiled(compiledFile(path)),
  });
}

/** Returns the path of the compiled code of a bundle for this engine with its present flags. */
export function compiledFile(path: string): string {
  return `${path}.${cachedDataVersionTag()}.compiled`;
}

function readCompiled(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
