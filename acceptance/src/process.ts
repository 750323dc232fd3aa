import { type ChildProcess, spawn } from 'node:child_process';

/** A process of the system under test, together with all processes that it starts. */
export interface Running {
  readonly pid: number;
  /** Returns the standard output so far, at most its last 64 KiB. `stderr` does the same for standard error. */
  stdout(): string;
  stderr(): string;
  /** Exit code; null if a signal ended the process. */
  readonly exited: Promise<number | null>;
  /** Waits for a text on standard output. Rejects if the process ends first, or after `timeoutMs`. */
  says(text: string, timeoutMs: number): Promise<void>;
  /** Sends SIGTERM and waits. Returns the exit code. */
  terminate(): Promise<number | null>;
  /** Kills the process and all processes that it has started. */
  kill(): Promise<void>;
}

const KEPT = 64 * 1024;
/** Milliseconds after which a process that does not end by itself is killed. */
const KILL_AFTER_MS = 40_000;

/**
 * Starts a Node.js script as the leader of a process group. `flags` are options of Node.js, `args` those of the script.
 */
export function startScript(
  file: string,
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
  args: readonly string[] = [],
): Running {
  const child = spawn(process.execPath, [...flags, file, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', resolve);
  });
  const orphan = () => signalGroup(child, 'SIGKILL');
  process.once('exit', orphan);
  void exited.then(() => process.off('exit', orphan));
  const running: Running = {
    pid: child.pid ?? 0,
    stdout: out.text,
    stderr: err.text,
    exited,
    says: (text, timeoutMs) => waitFor(running, out, text, timeoutMs),
    async terminate() {
      child.kill('SIGTERM');
      const timer = setTimeout(orphan, KILL_AFTER_MS);
      const code = await exited;
      clearTimeout(timer);
      return code;
    },
    async kill() {
      orphan();
      await exited;
    },
  };
  return running;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The process group has no members left.
  }
}

interface Collected {
  text(): string;
  onText(listen: () => void): void;
}

function collect(stream: NodeJS.ReadableStream | null): Collected {
  let all = '';
  const listeners: (() => void)[] = [];
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    all = (all + chunk).slice(-KEPT);
    for (const listen of listeners) listen();
  });
  return { text: () => all, onText: (listen) => listeners.push(listen) };
}

function waitFor(running: Running, out: Collected, text: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${why}\n${running.stdout()}\n${running.stderr()}`));
    const timer = setTimeout(() => fail(`It does not say ${JSON.stringify(text)}.`), timeoutMs);
    const look = () => {
      if (!out.text().includes(text)) return;
      clearTimeout(timer);
      resolve();
    };
    out.onText(look);
    look();
    void running.exited.then((code) => {
      clearTimeout(timer);
      fail(`It ended with ${code}.`);
    });
  });
}
