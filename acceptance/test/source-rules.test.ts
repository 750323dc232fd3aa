import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT } from '../src/system.js';

/** The source files of production code. */
const FOLDERS = [
  ...['kit', 'adapters', 'platform', 'site', 'gateway', 'cli'].map((name) => join(ROOT, name, 'src')),
  ...readdirSync(join(ROOT, 'services')).map((name) => join(ROOT, 'services', name, 'src')),
];

const SOURCES = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('testing/'))
    .map((file) => ({
      file: relative(ROOT, join(folder, file)),
      text: readFileSync(join(folder, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''),
    })),
);

/** Features that production code must not use, and the files that are exempt. */
const RULES: [what: string, pattern: RegExp, allowed: string[]][] = [
  [
    'programs that are named at run time, or a shell',
    /node:child_process|\bexecSync|shell:\s*true/,
    // Forks a file of the product, and starts the product itself.
    ['kit/src/process/index.ts', 'cli/src/doctor/embedded.ts'],
  ],
  [
    'text that is run as code',
    /\beval\(|new Function\(|node:vm/,
    // They run the script that the build has made, and limit the time of a match and of the check of a value; the code
    // that runs this way is a constant.
    [
      'kit/src/program/bundle.ts',
      'services/agents/src/domain/schema-check.ts',
      'services/resources/src/patterns/match.ts',
    ],
  ],
  [
    'output beside the log',
    /\bconsole\.\w+\(|process\.std(?:out|err)\b|\bwriteSync\(/,
    // Commands, a backup to standard output, what a start prints for its operator, and the last line of a
    // process that ends.
    [
      'cli/src/backup/sink.ts',
      'cli/src/commands/context.ts',
      'cli/src/doctor/inspect.ts',
      'cli/src/program.ts',
      'cli/src/run.ts',
      'kit/src/log/last-words.ts',
      'kit/src/program/node-version.ts',
      'platform/src/runtime/main.ts',
      'services/all/src/disclosure.ts',
      'services/all/src/welcome.ts',
    ],
  ],
  [
    'ciphers without authentication, and weak paddings',
    /['"](?:aes-\d+-(?:ecb|cbc|ctr|cfb|ofb)|(?:des|rc2|rc4|bf)(?:-[\w-]+)?)['"]|RSA_PKCS1_PADDING/i,
    [],
  ],
  [
    'broken hashes',
    /\bmd[45]\b|['"]sha-?1['"]/i,
    // An ETag, what authenticator apps compute (RFC 6238), and how lists of breached passwords are published.
    [
      'kit/src/http/preconditions.ts',
      'services/identity/src/breached-passwords.ts',
      'services/identity/src/domain/totp.ts',
    ],
  ],
  [
    'random numbers that can be guessed',
    /Math\.random\(/,
    // Pauses, slots and samples.
    [
      'adapters/src/mongo/transaction.ts',
      'gateway/src/middleware/access-log.ts',
      'kit/src/jobs/held-job.ts',
      'kit/src/jobs/wake-up.ts',
      'kit/src/limits/index.ts',
      'kit/src/quota/quota.ts',
      'kit/src/rpc/run-in-work.ts',
      'kit/src/rpc/shedding.ts',
      'kit/src/telemetry/trace-sdk.ts',
      'services/automations/src/runs/engine/execution.ts',
      'services/automations/src/schedules/open.ts',
      'services/automations/src/work-items/numbers.ts',
      'services/resources/src/forms/batches.ts',
      'services/search/src/index/sqlite/inspect.ts',
      'services/search/src/index/typesense/inspect.ts',
      'services/search/src/index/typesense/write.ts',
      'services/search/src/upkeep/schedule.ts',
    ],
  ],
  [
    'cryptography of other libraries than those of Node, JOSE, Argon2, WebAuthn and OAuth',
    /from '(?!node:crypto'|jose'|@node-rs\/argon2'|@simplewebauthn\/server'|oauth4webapi'|openid-client')(?!@commonplace)[a-z@][^']*(?:crypt|cipher|argon|jwt|jws|nacl|noble|sodium|forge|x509|pki|hash|sha\d|md5)[^']*'/,
    [],
  ],
  ['storage of browsers', /\b(?:local|session)Storage\b|\bindexedDB\b|document\.cookie/, []],
  [
    'messages between windows',
    /addEventListener\(['"]message|window\.postMessage|\bonmessage\b/,
    // A transport of the Model Context Protocol is no window.
    ['services/agents/src/mcp/malformed-tools.ts'],
  ],
  ['HTML that is written by a script', /\.(?:innerHTML|outerHTML)\s*=|insertAdjacentHTML|document\.write/, []],
];

describe('production code does not use', () => {
  test('has source files to check', () => {
    expect(SOURCES.length).toBeGreaterThan(500);
  });

  test.each(RULES)('%s', (_, pattern, allowed) => {
    const found = SOURCES.filter(({ text }) => pattern.test(text)).map(({ file }) => file);
    expect(found.filter((file) => !allowed.includes(file))).toEqual([]);
    expect(allowed.filter((file) => !found.includes(file))).toEqual([]);
  });
});

/** Matches code that connects to hosts that users or operators name. */
const REACHES_OUT = /\bopen(?:Outgoing)?Guard\(|createRemoteJWKSet\(|from 'oauth4webapi'/;

test('exactly the services that connect to hosts of users or operators declare it', () => {
  const services = SOURCES.filter(({ file }) => /^services\/(?!all\/)/.test(file));
  const nameOf = ({ file }: (typeof SOURCES)[number]) => file.split('/')[1];
  const reaching = new Set(services.filter(({ text }) => REACHES_OUT.test(text)).map(nameOf));
  const declaring = new Set(services.filter(({ text }) => text.includes('reachesInternet: true')).map(nameOf));
  expect([...declaring].sort()).toEqual([...reaching].sort());
  expect(reaching.size).toBeGreaterThan(3);
});

test('every decision is listed once', () => {
  const folder = join(ROOT, 'docs', 'decisions');
  const records = readdirSync(folder).filter((name) => /^\d{4}-/.test(name));
  const index = readFileSync(join(folder, 'README.md'), 'utf8');
  const listed = [...index.matchAll(/^\| \[\d{4}\]\(([^)]+)\)/gm)].map(([, name]) => name);
  expect(listed.sort()).toEqual(records.sort());
});
