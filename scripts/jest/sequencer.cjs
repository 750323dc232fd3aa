const inOrder = require('./in-order.cjs');

/**
 * Order of test files: the longest start first, so that no worker is left alone with one at the end. It is listed here
 * because a new machine has no recorded durations.
 */
module.exports = inOrder([
  'gateway/test/browser/hostile',
  'services/resources/test/access-property',
  'acceptance/test/bad-input',
  'acceptance/test/gates',
  'acceptance/test/browser/visitors',
  'cli/test/doctor',
  'acceptance/test/import-handbook',
  'acceptance/test/forms-kill',
  'acceptance/test/killed',
  'gateway/test/browser/pages',
  'cli/test/serving',
  'services/resources/test/documents/properties',
  'acceptance/test/process',
  'services/resources/test/publication-property',
  'services/search/test/sqlite-file',
]);
