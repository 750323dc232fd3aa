// Builds everything that has changed, and starts what the suites share. It also runs for `npx jest
// path/to/file.test.ts`.
import { build } from '../build.mjs';

export default async function setup(...about) {
  build({ say: (line) => process.stderr.write(`${line}\n`) });
  process.env.COMMONPLACE_TEST_MODE ??= 'embedded';
  const { default: start } = await import('../../acceptance/dist/src/standing-setup.js');
  await start(...about);
}
