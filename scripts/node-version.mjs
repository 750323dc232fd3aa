// Reports an unsupported version of Node.js in one line, instead of a stack trace from code that it can't run. Scripts
// that people start import this module first. The programs check the version again (kit/src/program/node-version.ts).
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Commonplace needs Node.js 20.19 or newer; this is v${process.versions.node}.`);
  process.exit(69);
}
