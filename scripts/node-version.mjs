// The scripts that people start import this first, so that an older Node.js is reported in one line, and not by a stack
// trace from code that it can't run. The programs check again themselves (kit/src/program/node-version.ts).
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Commonplace needs Node.js 20.19 or newer; this is v${process.versions.node}.`);
  process.exit(69);
}
