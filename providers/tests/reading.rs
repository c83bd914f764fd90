//! The readers beneath the providers: single JSON fields, the canonical form, times and forms, over
//! hostile input as well as good.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use providers::json::{
    Item, ItemsFault, NotJson, Scalar, canonical, fields, fields_at, items, members, pointer_fault,
    view,
};
use providers::text::{Unit, date_us, form_field, mail_date_us, number_us, time_us, utc_date_us};

fn one(body: &str, pointer: &str) -> Option<String> {
    let [field] = fields(body.as_bytes(), [pointer]).unwrap();
    field.map(|field| field.as_str().to_owned())
}

#[test]
fn fields_come_back_exactly_as_written() {
    let body = r#"{"a":12345678901234567890,"b":1.0,"c":1E3,"d":-0.10e-2,"e":true,"f":false,
        "g":"x\u0041\n","h":null,"i":{},"j":[],"k":""}"#;
    for (pointer, text) in [
        ("/a", Some("12345678901234567890")),
        ("/b", Some("1.0")),
        ("/c", Some("1e+3")),
        ("/d", Some("-0.10e-2")),
        ("/e", Some("true")),
        ("/f", Some("false")),
        ("/g", Some("xA\n")),
        ("/h", None),
        ("/i", None),
        ("/j", None),
        ("/k", Some("")),
        ("/z", None),
        ("/a/b", None),
        ("", None),
        ("a", None),
    ] {
        assert_eq!(one(body, pointer).as_deref(), text, "{pointer}");
    }
    assert!(matches!(&fields(b"{\"a\":1}", ["/a"]).unwrap()[0], Some(Scalar::Literal(_))));
    assert!(matches!(&fields(b"{\"a\":\"1\"}", ["/a"]).unwrap()[0], Some(Scalar::Text(_))));
}

#[test]
fn fields_of_different_depths_are_found_in_one_pass() {
    let body = br#"{"x":[1,{"y":"in"},[2,3]],"event":{"channel":{"id":"C1"},"a/b":1,"m~n":2},
        "top":"t","channel":"C2","deep":{"er":{"est":5}}}"#;
    let found = fields(
        body,
        [
            "/top",
            "/event/channel",
            "/event/channel/id",
            "/x/0",
            "/x/1/y",
            "/x/2/1",
            "/x/9",
            "/event/a~1b",
            "/event/m~0n",
            "/deep/er/est",
            "/deep/er/est",
            "/x/01",
        ],
    )
    .unwrap();
    let texts = found.map(|field| field.map(|field| field.as_str().to_owned()));
    let expected = [
        Some("t"),
        None,
        Some("C1"),
        Some("1"),
        Some("in"),
        Some("3"),
        None,
        Some("1"),
        Some("2"),
        Some("5"),
        Some("5"),
        None,
    ];
    assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
    let pointers = ["/event/channel".to_owned(), "/channel".to_owned()];
    let found = fields_at(body, &pointers).unwrap();
    assert_eq!(found[1].as_ref().map(Scalar::as_str), Some("C2"));
}

#[test]
fn of_a_member_named_twice_the_last_one_counts() {
    assert_eq!(one(r#"{"a":1,"a":2}"#, "/a").as_deref(), Some("2"));
    assert_eq!(one(r#"{"a":1,"a":null}"#, "/a"), None);
    assert_eq!(one(r#"{"a":{"b":1},"a":{}}"#, "/a/b"), None);
    assert_eq!(one(r#"{"a":{"b":1},"a":3}"#, "/a/b"), None);
    assert_eq!(one(r#"{"\u0061":1}"#, "/a").as_deref(), Some("1"));
}

#[test]
fn what_is_not_one_json_document_is_said_to_be_none() {
    for body in [
        "",
        " ",
        "x",
        "{",
        "{\"a\":1}}",
        "{\"a\":1} {}",
        "{\"a\" 1}",
        "[1,]",
        "{\"a\":tru}",
        "\u{feff}{}",
        "'a'",
    ] {
        assert_eq!(fields(body.as_bytes(), ["/a"]), Err(NotJson), "{body}");
        assert_eq!(canonical(body.as_bytes(), &[]), None, "{body}");
    }
    for body in ["{}", "[]", "null", "1", "\"a\"", " [ 1 , {\"b\":[]} ] "] {
        assert_eq!(fields(body.as_bytes(), ["/a"]), Ok([None]), "{body}");
    }
    assert_eq!(fields(b"{\"a\":\"\xff\"}", ["/a"]), Err(NotJson));
}

#[test]
fn a_bomb_of_brackets_costs_neither_stack_nor_a_tree() {
    std::thread::Builder::new()
        .stack_size(512 << 10)
        .spawn(|| {
            let deep = 1_000_000;
            let closed = [vec![b'['; deep], vec![b']'; deep]].concat();
            assert_eq!(fields(&closed, ["/a", "/0/0/0"]), Ok([None, None]));
            assert_eq!(fields(&closed[..deep], ["/a"]), Err(NotJson));
            let body = [b"{\"b\":".to_vec(), closed.clone(), b",\"a\":7}".to_vec()].concat();
            assert_eq!(fields(&body, ["/a"]).unwrap()[0].as_ref().unwrap().as_str(), "7");
            assert_eq!(fields(&b"{\"a\":".repeat(deep), ["/a"]), Err(NotJson));
            assert_eq!(canonical(&closed, &[]), None);
            assert_eq!(canonical(&b"{\"a\":".repeat(deep), &["/a/a"]), None);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_members_name_that_the_parser_uses_itself_does_no_harm() {
    let forged =
        r#"{"$serde_json::private::Number":"12","a":{"$serde_json::private::Number":[1]}}"#;
    assert_eq!(one(forged, "/b"), None);
    assert_eq!(fields(forged.as_bytes(), ["/a"]), Err(NotJson));
    assert_eq!(canonical(forged.as_bytes(), &[]), None);
    let digits = r#"{"a":{"$serde_json::private::Number":"12"}}"#;
    assert_eq!(fields(digits.as_bytes(), ["/a"]), Err(NotJson));
    assert_eq!(canonical(digits.as_bytes(), &[]), None);
}

#[test]
fn pointers_are_checked() {
    assert_eq!(pointer_fault("/a/b"), None);
    assert!(pointer_fault("a").is_some() && pointer_fault("").is_some());
    assert!(pointer_fault(&"/a".repeat(33)).is_some());
}

fn same(one: &str, other: &str, volatile: &[&str]) -> bool {
    let (one, other) = (canonical(one.as_bytes(), volatile), canonical(other.as_bytes(), volatile));
    one.is_some() && one == other
}

#[test]
fn the_canonical_form_keeps_what_matters_and_drops_what_does_not() {
    let form = canonical(b" { \"b\" : [ 1.0 , 1E3, true,null ] , \"a\" : \"\\u0041\\/\" } ", &[]);
    assert_eq!(String::from_utf8(form.unwrap()).unwrap(), r#"{"a":"A/","b":[1.0,1e+3,true,null]}"#);
    assert!(same(r#"{"a":1,"b":2}"#, r#"{ "b":2, "a":1 }"#, &[]));
    assert!(!same(r#"{"a":1}"#, r#"{"a":1.0}"#, &[]));
    assert!(!same(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, &[]));
    assert!(!same(r#"{"a":"1"}"#, r#"{"a":1}"#, &[]));
    assert!(!same("12345678901234567890", "12345678901234567891", &[]));
    assert!(same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, &[]));
    assert!(same(r#"{"n":2,"id":"e"}"#, r#"{"n":1,"id":"e"}"#, &["/n"]));
    assert!(same(r#"{"n":2,"id":"e"}"#, r#"{"id":"e"}"#, &["/n"]));
    assert!(!same(r#"{"n":2,"id":"e"}"#, r#"{"n":1,"id":"e"}"#, &["/m", "/x/n"]));
    assert!(same(r#"{"a":{"n":1,"k":0}}"#, r#"{"a":{"k":0}}"#, &["/a/n"]));
    assert!(same(r#"{"a":[{"n":1},7]}"#, r#"{"a":[{},7]}"#, &["/a/0/n"]));
    assert!(same("[1,2,3]", "[1,9,3]", &["/1"]));
    assert!(canonical(format!("{}{}", "[".repeat(120), "]".repeat(120)).as_bytes(), &[]).is_some());
    assert!(canonical(format!("{}{}", "[".repeat(130), "]".repeat(130)).as_bytes(), &[]).is_none());
}

#[test]
fn times_are_read_as_written() {
    assert_eq!(date_us("2017-09-15T16:50:55Z"), Some(1_505_494_255_000_000));
    assert_eq!(date_us("2017-09-15 16:50:55 UTC"), Some(1_505_494_255_000_000));
    assert_eq!(date_us("2021-04-28 21:50:00 +0200"), Some(1_619_639_400_000_000));
    assert_eq!(date_us("2019-05-15T15:20:55+00:00"), Some(1_557_933_655_000_000));
    assert_eq!(date_us("2022-01-01T00:00:01.123456789Z"), Some(1_640_995_201_123_456));
    for bad in [
        "",
        "now",
        "2017-13-01T00:00:00Z",
        "2017-09-15",
        "2017-09-15 16:50:55",
        "UTC",
        &"2".repeat(100_000),
    ] {
        assert_eq!(date_us(bad), None, "{bad:.40}");
    }
    assert_eq!(number_us("1712345678", Unit::Seconds), Some(1_712_345_678_000_000));
    assert_eq!(number_us("1712345678.123456", Unit::Seconds), Some(1_712_345_678_123_456));
    assert_eq!(number_us("1712345678.1", Unit::Seconds), Some(1_712_345_678_100_000));
    assert_eq!(number_us("1712345678.1234569", Unit::Seconds), Some(1_712_345_678_123_456));
    assert_eq!(number_us("1654012591835", Unit::Millis), Some(1_654_012_591_835_000));
    for bad in ["", "-1", "1e9", "1.", ".5", "1.2.3", "٣", "99999999999999999999", "+1", " 1"] {
        assert_eq!(number_us(bad, Unit::Seconds), None, "{bad}");
    }
    assert_eq!(utc_date_us("2024-10-18T14:42:53.5"), Some(1_729_262_573_500_000));
    assert_eq!(utc_date_us("2024-10-18T16:42:53.5+02:00"), Some(1_729_262_573_500_000));
    assert_eq!(mail_date_us("Tue, 23 Feb 2021 11:01:27 +0000"), Some(1_614_078_087_000_000));
    for bad in ["", "now", "2024-10-18", "2024-10-18T14:42:53 x", &"2".repeat(100_000)] {
        assert_eq!((utc_date_us(bad), mail_date_us(bad)), (None, None), "{bad:.40}");
    }
    assert_eq!(time_us("7", Unit::Seconds), Some(7_000_000));
    assert_eq!(time_us("1970-01-01T00:00:07Z", Unit::Seconds), Some(7_000_000));
}

#[test]
fn form_fields_are_decoded_without_loss() {
    let body = b"a=1&payload=%7B%22x%22%3A+%22%C3%A9%FF%22%7D&b&payload=second&c%5B%5D=%zz%4";
    assert_eq!(form_field(body, "payload").unwrap(), &b"{\"x\": \"\xc3\xa9\xff\"}"[..]);
    assert_eq!(form_field(body, "a").unwrap(), &b"1"[..]);
    assert_eq!(form_field(body, "b").unwrap(), &b""[..]);
    assert_eq!(form_field(body, "c[]").unwrap(), &b"%zz%4"[..]);
    assert_eq!(form_field(body, "pay"), None);
    assert_eq!(form_field(b"", "a"), None);
    let form = Some(&b"Application/x-www-form-urlencoded ; charset=utf-8"[..]);
    assert_eq!(*view(form, b"payload=%7B%7D"), *b"{}");
    assert_eq!(*view(form, b"x=1"), *b"x=1");
    assert_eq!(*view(Some(b"application/json"), b"payload=1"), *b"payload=1");
    assert_eq!(*view(None, b"{}"), *b"{}");
}

fn parts(body: &str, pointer: &str) -> Result<Vec<String>, ItemsFault> {
    let text = |item: &Item<'_>| {
        assert_eq!(&body.as_bytes()[item.range.clone()], item.json);
        String::from_utf8(item.json.to_vec()).unwrap()
    };
    Ok(items(body.as_bytes(), pointer)?.iter().map(text).collect())
}

#[test]
fn the_items_of_an_array_are_found_as_they_stand() {
    let all = parts(" [ {\"a\":1.0} ,\r\n 2,\"x,]\" , [3] ] ", "").unwrap();
    assert_eq!(all, [r#"{"a":1.0}"#, "2", r#""x,]""#, "[3]"]);
    let body =
        r#"{"events":1,"n":12345678901234567890,"a/b":{"events":[{"é":1},null]},"events":[7]}"#;
    assert_eq!(parts(body, "/events").unwrap(), ["7"]);
    assert_eq!(parts(body, "/a~1b/events").unwrap(), [r#"{"é":1}"#, "null"]);
    assert_eq!(parts("[]", ""), Ok(Vec::new()));
    for (body, pointer) in
        [("{}", ""), ("{}", "/a"), (r#"{"a":{}}"#, "/a"), (r#"{"a":[1],"a":2}"#, "/a"), ("1", "")]
    {
        assert_eq!(parts(body, pointer), Err(ItemsFault::NoArray), "{body}");
    }
    for body in ["", "[1,]", "[1", "[1] x", "{\"a\":[1}", "[\"\\x\"]"] {
        assert_eq!(parts(body, ""), Err(ItemsFault::NotJson), "{body}");
    }
}

#[test]
fn items_of_items_keep_their_place_in_the_body() {
    let body = br#"{"entry":[{"id":1,"changes":[{"f":"a"},{"f":"b"}]},{"changes":[]},{"x":1}]}"#;
    let entries = items(body, "/entry").unwrap();
    let inner = entries[0].items("/changes").unwrap();
    assert_eq!(&body[inner[1].range.clone()], br#"{"f":"b"}"#);
    assert_eq!(entries[1].items("/changes"), Ok(Vec::new()));
    assert_eq!(entries[2].items("/changes"), Err(ItemsFault::NoArray));
}

#[test]
fn items_are_bounded_in_number_and_cost_no_stack() {
    let many = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
    assert_eq!(items(many(10_000).as_bytes(), "").map(|found| found.len()), Ok(10_000));
    assert_eq!(items(many(10_001).as_bytes(), ""), Err(ItemsFault::TooMany));
    let deep = 1_000_000;
    let bomb = [b"[".repeat(deep), b"]".repeat(deep)].concat();
    assert_eq!(items(&bomb, "").map(|found| found.len()), Ok(1));
    assert_eq!(items(&b"[".repeat(deep), ""), Err(ItemsFault::NotJson));
    assert_eq!(items(&bomb, "/a"), Err(ItemsFault::NoArray));
}

#[test]
fn the_members_of_an_object_are_found_as_they_stand() {
    let found = members(br#" {"a":{"b":[1, 2]},"c\u0031":"x","d":1.50} "#).unwrap();
    let found: Vec<(&str, &[u8])> =
        found.iter().map(|member| (member.name.as_str(), member.json)).collect();
    assert_eq!(found, [("a", &br#"{"b":[1, 2]}"#[..]), ("c1", b"\"x\""), ("d", b"1.50")]);
    assert_eq!(members(b"{}").unwrap(), []);
    for body in ["", "[]", "1", "\"x\"", "{\"a\":1", "{}{}", "{\"a\":}"] {
        assert!(members(body.as_bytes()).is_err(), "{body}");
    }
    let object = |n: usize| format!("{{{}}}", vec!["\"a\":0"; n].join(","));
    assert_eq!(members(object(1000).as_bytes()).map(|found| found.len()), Ok(1000));
    assert!(members(object(1001).as_bytes()).is_err());
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(members(deep.as_bytes()).map(|found| found.len()), Ok(1));
}
