//! What a capture shows and what it does not.

use tempfile::TempDir;

use super::*;

const KEY: &str = "hunter2-hunter2";

fn request() -> Captured {
    Captured {
        method: "POST",
        url: "https://user:pass@host.example/v1/x?alt=sse&key=abc&api-version=1".to_owned(),
        headers: vec![
            ("accept".to_owned(), "text/event-stream".to_owned()),
            ("X-Api-Key".to_owned(), "other".to_owned()),
        ],
        key_header: Some("authorization"),
        body: Bytes::from_static(b"{\"b\": 1.0, \"a\": \"hunter2-hunter2\"}"),
    }
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn a_request_and_its_answer_are_kept_without_secrets() {
    let folder = TempDir::new().unwrap();
    let capture = Arc::new(Capture::new(folder.path()).unwrap());
    let redactor = Arc::new(Redactor::new([("KEY", KEY)]));
    let mut recording = capture.begin("a/b:c", request(), redactor).unwrap();
    let headers = [
        ("set-cookie".to_owned(), "id=1".to_owned()),
        ("x-ratelimit-remaining-tokens".to_owned(), "7".to_owned()),
    ];
    recording.head(200, &headers);
    for piece in ["data: hunter", "2-hunter2 hunter2-hu", "nter2hunter2\n\nda"] {
        recording.bytes(&Bytes::from_static(piece.as_bytes()));
    }
    // The key in base64 and in hexadecimal.
    recording.bytes(&Bytes::from_static(b" aHVudGVyMi1odW50ZXIy 68756e746572322d68756e74657232"));
    // The last one to go waits until all is written, whichever it is.
    drop(capture);
    drop(recording);
    insta::assert_snapshot!(read(&folder, "0001-a_b_c.request.json"), @r#"{"method":"POST","url":"https://<redacted>@host.example/v1/x?alt=sse&key=<redacted>&api-version=1","headers":[["accept","text/event-stream"],["X-Api-Key","<redacted>"],["authorization","<redacted>"]],"body":{"b": 1.0, "a": "[redacted: KEY]"}}"#);
    let answer = read(&folder, "0001-a_b_c.response");
    assert_eq!(
        answer,
        "HTTP 200\r\nset-cookie: <redacted>\r\nx-ratelimit-remaining-tokens: 7\r\n\r\n\
         data: [redacted: KEY] [redacted: KEY]hunter2\n\nda [redacted: KEY] [redacted: KEY]"
    );
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_captures() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    let captures = folder.path().join("a/captures");
    let capture = Arc::new(Capture::new(&captures).unwrap());
    drop(capture.begin("m", request(), Arc::default()));
    drop(capture);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&captures), mode(captures.parent().unwrap())), (0o700, 0o700));
    let files: Vec<_> = fs::read_dir(&captures).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| mode(file) == 0o600));
}

#[test]
fn numbers_go_on_and_nothing_is_overwritten() {
    let folder = TempDir::new().unwrap();
    for _ in 0..2 {
        let capture = Arc::new(Capture::new(folder.path()).unwrap());
        drop(capture.begin("m", request(), Arc::default()));
        drop(capture.begin("m", request(), Arc::default()));
    }
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".response"))
        .collect();
    names.sort();
    assert_eq!(names, ["0001-m.response", "0002-m.response", "0003-m.response", "0004-m.response"]);
}

#[test]
fn what_is_kept_is_bounded() {
    let folder = TempDir::new().unwrap();
    let capture = Arc::new(Capture::new(folder.path()).unwrap());
    let mut recording = capture.begin("m", request(), Arc::default()).unwrap();
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    for _ in 0..40 {
        recording.bytes(&chunk);
    }
    drop((recording, capture));
    let answer = read(&folder, "0001-m.response");
    assert!(answer.ends_with("[the rest is not kept]\n"));
    assert!(answer.len() < ANSWER_CAP_BYTES + 100);
}

#[test]
fn a_folder_that_is_gone_harms_nobody() {
    let folder = TempDir::new().unwrap();
    let capture = Arc::new(Capture::new(folder.path()).unwrap());
    folder.close().unwrap();
    let mut recording = capture.begin("m", request(), Arc::default()).unwrap();
    recording.bytes(&Bytes::from_static(b"x"));
    drop((recording, capture));
}
