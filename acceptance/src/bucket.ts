import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './system.js';

/** A separate S3-compatible server, which can be killed and restarted with its data. */
export interface Bucket {
  /** Value of `COMMONPLACE_S3_URL`. */
  readonly url: string;
  /** Ends the server with SIGKILL. */
  kill(): Promise<void>;
  /** Starts the server again on the same port after `kill`. */
  restart(): Promise<void>;
  /** Ends the server and deletes its data. */
  stop(): Promise<void>;
}

interface Server {
  readonly port: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface Script {
  installTool(name: string): Promise<string>;
  startS3(program: string, data: string, port?: number): Promise<Server>;
  s3Url(server: Server): string;
}

export async function startBucket(): Promise<Bucket> {
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as Script;
  const program = await script.installTool('versitygw');
  const data = mkdtempSync(join(tmpdir(), 'commonplace-bucket-'));
  let server = await script.startS3(program, data);
  const { port } = server;
  return {
    url: script.s3Url(server),
    kill: () => server.stop('SIGKILL'),
    async restart() {
      server = await script.startS3(program, data, port);
    },
    async stop() {
      await server.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
