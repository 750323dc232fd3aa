const inOrder = require('./in-order.cjs');

/**
 * On servers: what takes longest starts first, that no worker is alone with it at the end, and what mostly waits is among
 * it. The two that fill an index with a handbook come apart: what one finds within two seconds waits behind the other.
 * Suites of one standing system come together, as it ends when nobody is left in it.
 */
module.exports = inOrder([
  'acceptance/dist/test/gates',
  'acceptance/dist/test/links',
  'acceptance/dist/test/handbook',
  'acceptance/dist/test/killed',
  'acceptance/dist/test/forms-kill',
  'acceptance/dist/test/import-handbook',
  'acceptance/dist/test/bad-input',
  'acceptance/dist/test/search',
  'acceptance/dist/test/webhooks',
  'acceptance/dist/test/meaning',
  'acceptance/dist/test/imports',
  'acceptance/dist/test/domains',
  'acceptance/dist/test/mesh-tls',
  'acceptance/dist/test/bucket-crash',
  'acceptance/dist/test/archive-import',
  'acceptance/dist/test/members',
  'acceptance/dist/test/places',
  'acceptance/dist/test/tags',
  'acceptance/dist/test/file-settings',
  'acceptance/dist/test/forms-limits',
  'cli/dist/test/mesh',
  'cli/dist/test/keys',
  'cli/dist/test/publications',
]);
