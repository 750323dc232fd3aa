import { openBlobStore } from '@commonplace/files/blobs';
import type { Installation } from '@commonplace/kit/installation';
import { type Check, errorLine, type Finding, failed, ok, warning, worstOf } from './check.js';
import { judgeBytes } from './embedded.js';

/** Milliseconds in which a server has to respond. */
const ANSWER_MS = 4000;
/**
 * Clock difference in seconds that causes a warning, and one that causes a failure. Tokens between services are valid
 * for 30 seconds.
 */
const [FEW_SECONDS, TOO_MANY_SECONDS] = [2, 15];
const WAITING_MS = 60_000;

/** Checks MongoDB: its version, replica set and clock, and the pending events in the outboxes of services. */
export function mongoCheck(url: string, services: readonly string[]): Check {
  return {
    name: 'MongoDB',
    run: async () => {
      const { inspectMongo } = await import('@commonplace/adapters/mongo');
      const facts = await inspectMongo({ url, services, timeoutMs: ANSWER_MS });
      if (facts.replicaSet === undefined) return failed('the server is not a member of a replica set', { ...facts });
      const findings = [ok(`${facts.version}, replica set ${facts.replicaSet}`)];
      if (facts.clock !== undefined) findings.push(judgeClock(facts.clock));
      for (const { service, pending, oldest } of facts.outboxes) {
        const age = oldest === undefined ? 0 : Date.now() - Date.parse(oldest);
        if (age > WAITING_MS) findings.push(warning(`${pending} events of ${service} are not published`));
      }
      return worstOf(findings, { ...facts });
    },
  };
}

/** Returns the installations to which the databases of the services belong. */
export async function mongoInstallations(url: string, services: readonly string[]): Promise<Installation[]> {
  const { openMongoDatabase } = await import('@commonplace/adapters/mongo');
  const database = await openMongoDatabase({ url });
  try {
    const found = await Promise.all(services.map((name) => database.installationOf(name).read()));
    return found.filter((one) => one !== undefined);
  } finally {
    await database.close();
  }
}

function judgeClock({ at, tookMs }: { readonly at: number; readonly tookMs: number }): Finding {
  // The server read its clock about halfway through the call.
  const seconds = Math.round((Date.now() - tookMs / 2 - at) / 1000);
  const text = `this clock and the server's differ by ${Math.abs(seconds)} s`;
  if (Math.abs(seconds) > TOO_MANY_SECONDS) return failed(text);
  return Math.abs(seconds) > FEW_SECONDS ? warning(text) : ok(text);
}

/** Number of pending events of a consumer above which the check warns. */
const MAX_PENDING_EVENTS = 1000;

export function natsCheck(url: string): Check {
  return {
    name: 'NATS',
    run: async () => {
      const { inspectNats } = await import('@commonplace/adapters/nats');
      const facts = await inspectNats(url, ANSWER_MS);
      const [major = 0, minor = 0] = facts.version.split('.').map(Number);
      if (major < 2 || (major === 2 && minor < 11)) {
        return failed(`${facts.version} is too old: 2.11 is required`, { ...facts });
      }
      if (facts.stream === undefined)
        return warning(`${facts.version}; the first start creates its streams`, { ...facts });
      const findings = [ok(`${facts.version}, ${facts.stream.messages} events kept`)];
      for (const { name, waiting } of facts.consumers) {
        if (waiting > MAX_PENDING_EVENTS) findings.push(warning(`${waiting} events wait for ${name}`));
      }
      return worstOf(findings, { ...facts });
    },
  };
}

/** Checks the bucket that stores the bytes of files. */
export function bucketCheck(s3Url: string): Check {
  return {
    name: 'bucket',
    run: async () => {
      const store = await openBlobStore({ s3Url, s3PublicUrl: undefined }, '');
      try {
        // No key has this prefix. The listing only tests that the bucket exists and can be read.
        for await (const _ of store.list('doctor/')) break;
        return ok('the bucket answers');
      } finally {
        await store.close();
      }
    },
  };
}

/** Time limit in milliseconds for checking the bytes of files, unless the check is thorough. */
const FILES_MS = 3000;

/** Checks the bytes of files in the bucket against the records of a mesh. */
export function filesCheck(mongodbUrl: string, s3Url: string, thorough: boolean): Check {
  return {
    name: 'files',
    run: async () => {
      const { openMongoSource } = await import('@commonplace/adapters/mongo');
      const { inspectBytes, openSizes } = await import('@commonplace/files/inspect');
      const source = await openMongoSource({ url: mongodbUrl, service: 'files', timeoutMs: ANSWER_MS });
      const { sizeOf, close } = await openSizes(s3Url, '');
      try {
        const used = source.sizes('blobs', { uses: { $gt: 0 } });
        const until = thorough ? Number.POSITIVE_INFINITY : performance.now() + FILES_MS;
        return judgeBytes(await inspectBytes(used, sizeOf, until));
      } finally {
        await close();
        await source.close();
      }
    },
  };
}

/** Checks each Typesense node: its health, its version, and the API key. */
export function typesenseCheck(urls: readonly string[], apiKey: string | undefined): Check {
  return {
    name: 'Typesense',
    run: async () => {
      const nodes = await Promise.all(urls.map((url) => inspectTypesense(url, apiKey ?? '')));
      const facts = { versions: nodes.map(({ version }) => version) };
      return worstOf(
        nodes.map(({ finding }) => finding),
        facts,
      );
    },
  };
}

/** Checks the collector of traces and metrics. A failure is only a warning, because the system works without it. */
export function collectorCheck(otlpUrl: string, headers: Readonly<Record<string, string>> = {}): Check {
  return {
    name: 'collector',
    run: async () => {
      const { host } = new URL(otlpUrl);
      try {
        const answer = await fetch(`${otlpUrl}/v1/traces`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: '{"resourceSpans":[]}',
          signal: AbortSignal.timeout(ANSWER_MS),
        });
        await answer.body?.cancel();
        return answer.ok ? ok(`${host} takes traces`) : warning(`${host} answers ${answer.status} to traces`);
      } catch (error) {
        const { cause } = error as { cause?: unknown };
        return warning(`${host} does not answer: ${errorLine(cause ?? error)}; traces and metrics are dropped`);
      }
    },
  };
}

async function inspectTypesense(url: string, apiKey: string): Promise<{ finding: Finding; version?: string }> {
  const { host } = new URL(url);
  const ask = (path: string) =>
    fetch(url + path, { headers: { 'X-TYPESENSE-API-KEY': apiKey }, signal: AbortSignal.timeout(ANSWER_MS) });
  try {
    const { ok: well } = (await (await ask('/health')).json()) as { ok?: boolean };
    if (well !== true) return { finding: failed(`${host} reports that it is not healthy`) };
    const answer = await ask('/debug');
    if (!answer.ok) return { finding: failed(`${host} answers ${answer.status}: the API key is not valid`) };
    const { version } = (await answer.json()) as { version?: string };
    return { finding: ok(`${host} has ${version}`), version };
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return { finding: failed(`${host} does not answer: ${errorLine(cause ?? error)}`) };
  }
}
