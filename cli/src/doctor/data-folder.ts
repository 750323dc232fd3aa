import { existsSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DATABASE_FILE, RESTORE_MARKER } from '@commonplace/platform/runtime';
import { KEY_FILES } from '../backup/manifest.js';
import { type Check, type Finding, failed, ok, warning, worstOf } from './check.js';

/** Checks that the current user can read and write the data folder, and that other users cannot read its files. */
export function permissionsCheck(dataDir: string): Check {
  return {
    name: 'data folder',
    run: async () => {
      const folder = resolve(dataDir);
      if (!existsSync(folder)) return warning(`${folder} does not exist; the first start creates it`);
      if (existsSync(join(folder, RESTORE_MARKER))) {
        return failed(`the restore of ${folder} is incomplete: restore it again`);
      }
      const findings = [await accessOf(folder, constants.R_OK | constants.W_OK | constants.X_OK)];
      const files = [DATABASE_FILE, ...KEY_FILES].filter((name) => existsSync(join(folder, name)));
      for (const name of files) {
        const path = join(folder, name);
        findings.push(await accessOf(path, constants.R_OK | constants.W_OK));
        const { mode } = await stat(path);
        if ((mode & 0o077) !== 0) findings.push(warning(`others may read ${path}: chmod 600`));
      }
      const { uid } = await stat(folder);
      const me = process.getuid?.();
      if (me !== undefined && me !== 0 && uid !== me) findings.push(warning(`${folder} belongs to user ${uid}`));
      if (findings.every(({ status }) => status === 'ok')) return ok(`only this user can access ${folder}`);
      return worstOf(findings);
    },
  };
}

async function accessOf(path: string, mode: number): Promise<Finding> {
  return access(path, mode).then(
    () => ok(path),
    () => failed(`${path} cannot be read and written by this user`),
  );
}

const MIB = 2 ** 20;
/** Thresholds of free space: bytes below which the check fails, then bytes and share below which it warns. */
const [MIN_FREE_BYTES, LOW_FREE_BYTES, LOW_FREE_SHARE] = [256 * MIB, 1024 * MIB, 0.05];

export function diskCheck(dataDir: string): Check {
  return {
    name: 'disk',
    run: async () => {
      const folder = existsSync(dataDir) ? dataDir : '.';
      const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
      const free = bavail * bsize;
      const facts = { freeBytes: free, totalBytes: blocks * bsize };
      const text = `${(free / 1024 / MIB).toFixed(1)} GiB are free on the disk of ${resolve(folder)}`;
      if (free < MIN_FREE_BYTES) return failed(text, facts);
      if (free < LOW_FREE_BYTES || bavail < blocks * LOW_FREE_SHARE) return warning(text, facts);
      if (files > 0 && ffree < files * LOW_FREE_SHARE)
        return warning(`${text}, but there is room for few more files`, facts);
      return ok(text, facts);
    },
  };
}
