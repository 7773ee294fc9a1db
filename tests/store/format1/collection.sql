CREATE TABLE "migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
CREATE UNIQUE INDEX "idx_migrations_migration_set_name"
    ON "migrations" ("migration_set", "name");
CREATE TABLE meta (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        checksum INTEGER NOT NULL
    );
CREATE TABLE generations (
        number INTEGER PRIMARY KEY,
        committed_at TEXT NOT NULL,
        verb TEXT NOT NULL,
        source TEXT,
        vector_file TEXT NOT NULL,
        vector_rows INTEGER NOT NULL,
        live_records INTEGER NOT NULL,
        live_texts INTEGER NOT NULL,
        dead_texts INTEGER NOT NULL,
        concepts INTEGER NOT NULL,
        ann_file TEXT,
        ann_rows INTEGER NOT NULL,
        ann_sha256 TEXT,
        ann_kind TEXT NOT NULL,
        ann_parameters TEXT NOT NULL,
        encoder_fingerprint TEXT NOT NULL,
        encoder_folder TEXT NOT NULL,
        dim INTEGER NOT NULL,
        details TEXT NOT NULL,
        checksum TEXT NOT NULL
    );
CREATE TABLE segments (
        first_row INTEGER PRIMARY KEY,
        rows INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        file TEXT NOT NULL,
        sha256 TEXT NOT NULL
    );
CREATE TABLE texts (
        row INTEGER PRIMARY KEY,
        text TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        tokens INTEGER NOT NULL,
        truncated INTEGER NOT NULL,
        has_unknown INTEGER NOT NULL,
        vector_key INTEGER NOT NULL,
        records INTEGER NOT NULL DEFAULT 0,
        checksum INTEGER NOT NULL
    );
CREATE INDEX texts_dead ON texts (row) WHERE records = 0;
CREATE INDEX texts_vector_key ON texts (vector_key);
CREATE TABLE records (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        text_row INTEGER NOT NULL REFERENCES texts (row) DEFERRABLE INITIALLY DEFERRED,
        raw TEXT,
        metadata TEXT NOT NULL,
        concept_id TEXT,
        scope TEXT,
        name_type TEXT,
        source_line INTEGER,
        checksum INTEGER NOT NULL
    );
CREATE INDEX records_text ON records (text_row, id);
CREATE INDEX records_concept ON records (concept_id) WHERE concept_id IS NOT NULL;
CREATE TABLE concepts (
        id TEXT PRIMARY KEY,
        label TEXT NOT NULL,
        definition TEXT,
        obsolete INTEGER NOT NULL,
        derived INTEGER NOT NULL,
        replaced_by TEXT NOT NULL,
        consider TEXT NOT NULL,
        alt_ids TEXT NOT NULL,
        parents TEXT NOT NULL,
        semantic_types TEXT NOT NULL,
        xrefs TEXT NOT NULL,
        source_line INTEGER,
        content_hash TEXT NOT NULL,
        checksum INTEGER NOT NULL
    );
CREATE TABLE concept_ids (
        alt_id TEXT NOT NULL,
        concept_id TEXT NOT NULL REFERENCES concepts (id) ON DELETE CASCADE,
        PRIMARY KEY (alt_id, concept_id)
    ) WITHOUT ROWID;
CREATE INDEX concept_ids_concept ON concept_ids (concept_id);
CREATE TABLE names (
        key TEXT NOT NULL,
        text TEXT NOT NULL,
        concept_id TEXT NOT NULL,
        record_key INTEGER REFERENCES records (key) ON DELETE CASCADE,
        scope TEXT NOT NULL,
        name_type TEXT,
        obsolete INTEGER NOT NULL,
        checksum INTEGER
    );
CREATE INDEX names_key ON names (key);
CREATE INDEX names_record ON names (record_key) WHERE record_key IS NOT NULL;
CREATE INDEX names_obsolete ON names (concept_id) WHERE obsolete = 1;
CREATE TABLE canaries (text TEXT PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE quarantine (
        generation INTEGER NOT NULL,
        source TEXT,
        line INTEGER NOT NULL,
        reason TEXT NOT NULL,
        content TEXT NOT NULL,
        skipped INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    );
CREATE TABLE pending_chunks (
        first_row INTEGER PRIMARY KEY,
        rows INTEGER NOT NULL,
        file TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        fingerprint TEXT NOT NULL
    );
CREATE TABLE pending (
        row INTEGER PRIMARY KEY,
        text TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        tokens INTEGER NOT NULL,
        truncated INTEGER NOT NULL,
        has_unknown INTEGER NOT NULL,
        vector_key INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    );
CREATE VIRTUAL TABLE texts_fts USING fts5 (
        text, content='texts', content_rowid='row', tokenize='unicode61 remove_diacritics 2'
    );
CREATE VIEW records_with_text AS
        SELECT records.id, coalesce(records.raw, texts.text) AS text, records.concept_id,
               concepts.label AS concept_label, records.scope, records.name_type, records.metadata,
               records.source_line AS line, texts.tokens, texts.truncated, texts.has_unknown,
               texts.row AS vector_row
        FROM records JOIN texts ON texts.row = records.text_row
        LEFT JOIN concepts ON concepts.id = records.concept_id;
INSERT INTO migrations VALUES (1, 'mirror-index', '0001_first_format', '2026-11-30 14:21:09.239093+00:00');
INSERT INTO meta VALUES ('encoder_files', '{"hash.json": "32c46f5cb45ab3e1d1d09bc5141980fad654ce08d8efd20dc6cd13ebbb08d000"}', 1526914033403049571);
INSERT INTO meta VALUES ('sources', '["old.csv", "more.csv"]', 2156804976745233110);
INSERT INTO meta VALUES ('index_spec', '{"kind": "auto", "recall": 0.95}', 7576396802360701717);
INSERT INTO meta VALUES ('created_at', '"2026-11-30T14:21:09+00:00"', 2846667349947136322);
INSERT INTO meta VALUES ('name_key_version', '1', 53538994306781224);
INSERT INTO generations VALUES (1, '2026-11-30T14:21:09+00:00', 'build', 'old.csv', 'vectors/000001.f32', 6, 6, 6, 0, 2, NULL, 0, NULL, 'exact', '{}', '02b356fa147bdea80bc6db0633ed1cee4604ba3f73e10f1ddf1359bbcfc4ef7c', 'encoder', 16, '{"obsolete_names": 2, "rejected_rows": 2, "report": {"added": 6, "collisions": 1, "deleted": 0, "duplicates": 0, "generation": 1, "quarantined": 1, "records": 6, "seconds": 0.0, "skipped": 1, "texts_encoded": 6, "texts_reused": 0, "truncated": 0, "unchanged": 0, "unknown": 0, "updated": 0, "verb": "build"}}', '644c99fdf3c7278b');
INSERT INTO generations VALUES (2, '2026-11-30T14:21:09+00:00', 'add', 'more.csv', 'vectors/000001.f32', 7, 7, 7, 0, 2, NULL, 0, NULL, 'exact', '{}', '02b356fa147bdea80bc6db0633ed1cee4604ba3f73e10f1ddf1359bbcfc4ef7c', 'encoder', 16, '{"obsolete_names": 2, "rejected_rows": 2, "report": {"added": 1, "collisions": 0, "deleted": 0, "duplicates": 0, "generation": 2, "quarantined": 0, "records": 7, "seconds": 0.0, "skipped": 0, "texts_encoded": 1, "texts_reused": 0, "truncated": 0, "unchanged": 0, "unknown": 0, "updated": 0, "verb": "add"}}', '45e1562ffdb2898b');
INSERT INTO generations VALUES (3, '2026-11-30T14:21:09+00:00', 'delete', NULL, 'vectors/000001.f32', 7, 6, 6, 1, 2, NULL, 0, NULL, 'exact', '{}', '02b356fa147bdea80bc6db0633ed1cee4604ba3f73e10f1ddf1359bbcfc4ef7c', 'encoder', 16, '{"obsolete_names": 2, "rejected_rows": 2, "report": {"added": 0, "collisions": 0, "deleted": 1, "duplicates": 0, "generation": 3, "quarantined": 0, "records": 6, "seconds": 0.0, "skipped": 0, "texts_encoded": 0, "texts_reused": 0, "truncated": 0, "unchanged": 0, "unknown": 0, "updated": 0, "verb": "delete"}}', '2156034e7ac3cdf7');
INSERT INTO segments VALUES (0, 6, 1, 'vectors/000001.f32', '11c0e628608138efe57995d7441ee80104d9578325058d90dd4fdb23b19ed424');
INSERT INTO segments VALUES (6, 1, 2, 'vectors/000001.f32', '844047cfe9d10c2bab08eb46022bde1642285b00c27b9e2c198761069dbf95a2');
INSERT INTO texts VALUES (0, 'kidney stone', X'E8438EA4F55274AEC964C9F8303C4648', 4, 0, 0, 1644586840005336123, 1, 6124634413243272838);
INSERT INTO texts VALUES (1, 'renal failure', X'A97759A2CFC70215DAC56953021C54E8', 4, 0, 0, 5100366275656906660, 1, 3288047955121816167);
INSERT INTO texts VALUES (2, 'Renal failure', X'DFD32F04F9C08C81A8C4551F5ED32F6F', 4, 0, 0, 5100366275656906660, 0, 7039094443521055676);
INSERT INTO texts VALUES (3, 'cardiac arrest', X'4A07D4542DE2FAEE9F7F7D34792D2727', 4, 0, 0, 7561178412339434879, 1, 8539699397623313872);
INSERT INTO texts VALUES (4, 'renal calculus', X'8D397C41AE42134777198E082C6620BE', 4, 0, 0, 7975583374201143864, 1, 2443995720826318765);
INSERT INTO texts VALUES (5, 'nephrolithiasis', X'195DB2CB4274B10B18747A41FB3BCE81', 3, 0, 0, 699618061518367920, 1, 5759317211281065438);
INSERT INTO texts VALUES (6, 'gastric ulcer', X'2AA12B17F02B1A8F18E8B772416AFDB3', 4, 0, 0, 6036338836120819294, 1, 5882600991529953325);
INSERT INTO records VALUES (1, 'p1', 1, NULL, '{"year": 2001}', NULL, NULL, NULL, 1, 2484106172447496860);
INSERT INTO records VALUES (2, 'p2', 3, '  cardiac   arrest ', '{"note": "it''s ü", "year": 2002}', NULL, NULL, NULL, 2, 6438855271238373369);
INSERT INTO records VALUES (4, 'T:1', 0, NULL, '{}', 'T:1', 'label', NULL, 10, 6623735989749903120);
INSERT INTO records VALUES (5, 'T:1#nephrolithiasis', 5, NULL, '{}', 'T:1', 'exact', NULL, 10, 3128918702853573456);
INSERT INTO records VALUES (6, 'T:1#renal calculus', 4, NULL, '{}', 'T:1', 'related', NULL, 10, 3896022074153828924);
INSERT INTO records VALUES (7, 'p6', 6, NULL, '{"year": 2006}', NULL, NULL, NULL, 1, 7462251810572095614);
INSERT INTO concepts VALUES ('T:1', 'kidney stone', NULL, 0, 0, '[]', '[]', '["T:9"]', '[]', '[]', '[]', 10, '40856dd0816c27b1244a03299b00f1ee', 944974110943382807);
INSERT INTO concepts VALUES ('T:2', 'obsolete gout', NULL, 1, 0, '["T:1"]', '[]', '[]', '[]', '[]', '[]', 11, '8d94101229a2c40bd92ad2d4a43687c7', 8784953658006919247);
INSERT INTO concept_ids VALUES ('T:9', 'T:1');
INSERT INTO names VALUES ('kidney stone', 'kidney stone', 'T:1', 4, 'label', NULL, 0, NULL);
INSERT INTO names VALUES ('nephrolithiasis', 'nephrolithiasis', 'T:1', 5, 'exact', NULL, 0, NULL);
INSERT INTO names VALUES ('renal calculus', 'renal calculus', 'T:1', 6, 'related', NULL, 0, NULL);
INSERT INTO names VALUES ('obsolete gout', 'obsolete gout', 'T:2', NULL, 'label', NULL, 1, 210351395045062273);
INSERT INTO names VALUES ('gout', 'obsolete gout', 'T:2', NULL, 'label', NULL, 1, 8235100299047284125);
INSERT INTO canaries VALUES ('acute kidney failure', X'3E50853E00000000000000003E5085BE3E5005BF000000004DA426BF00000000000000003E5085BE00000000000000003E50853E3E50053E3E5005BE00000000', 3973419207118104863);
INSERT INTO canaries VALUES ('The committee approved the budget after a long debate.', X'9D1C70BE00000000E21196BE181007BF9D1CF03D9D1C703D9D1C70BE761534BE7615B43E9D1CF0BE9D1C703D9D1C703E9D1C70BE9D1C703D9D1C703D9D1CF0BD', 1323998309458733983);
INSERT INTO canaries VALUES ('αβγ-Überprüfung 12.5 mg', X'000000000000000000000000F28543BF8374DFBD83745F3E83745FBE000000008374DFBD83745FBE6297A7BE8374DFBD000000008374DF3D6297A7BE8374DFBD', 2917476541147082645);
INSERT INTO canaries VALUES ('x', X'000000000000000000000000000000BF00000000000000000000003F000000000000000000000000000000000000000000000000000000BF000000BF00000000', 7877225812191335215);
INSERT INTO quarantine VALUES (1, 'old.csv', 4, 'no text column', 'x;y', 0, 8614867591397244582);
INSERT INTO quarantine VALUES (1, 'old.csv', 5, 'the text is empty', 'p5', 1, 748511118322107800);
INSERT INTO texts_fts (texts_fts) VALUES ('rebuild');
PRAGMA user_version = 1;
