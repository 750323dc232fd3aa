import { integer, type Table } from '@commonplace/kit/config';

export const config = {
  indexBatch: {
    variable: 'COMMONPLACE_INDEX_BATCH',
    help: 'events that the index takes in at once',
    parse: integer(1, 1000),
    fallback: 100,
  },
} satisfies Table;
