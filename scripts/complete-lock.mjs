// Adds missing packages for other platforms to package-lock.json. `npm install` omits them from the lock if the
// registry does not have them, and `npm ci` then refuses the lock on every platform. Platforms are derived from the
// names of packages. Run it after changing dependencies.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '..', 'package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** Derives the platform of a package from the words in its name; undefined if they name none. */
function platformOf(name) {
  const words = name.split('/').at(-1).split(/[-_.]/);
  const os = SYSTEMS.filter((one) => words.includes(one));
  const cpu = PROCESSORS.filter((one) => words.some((word) => word === one));
  if (cpu.length === 0 && words.some((word) => word.startsWith('arm'))) cpu.push('arm');
  if (cpu.length === 0) return undefined;
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : [];
  return { cpu, ...(os.length > 0 ? { os } : {}), ...(libc.length > 0 ? { libc } : {}) };
}

/** Returns whether the lock contains a package with that name where `from` would resolve it. */
function isThere(name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true;
    if (folder === '') return false;
  }
}

let added = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isThere(name, path)) continue;
    const platform = platformOf(name);
    if (platform === undefined || !/^\d/.test(version))
      throw new Error(`${path}: ${name}@${version} has no platform in its name`);
    lock.packages[`node_modules/${name}`] = { version, ...platform, dev: entry.dev, optional: true };
    added++;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} packages for other platforms added`);
