// Prints the Secret that the development values name. What is in it is made once, and kept in data/tilt.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '../data/tilt/secret.json');
if (!existsSync(file)) {
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  const made = ['mesh-key', 'secret-key', 'secrets-key'].map((key) => [key, randomBytes(32).toString('hex')]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(made)), { mode: 0o600 });
}
const stringData = JSON.parse(readFileSync(file, 'utf8'));
console.log(JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'commonplace-dev' }, stringData }));
